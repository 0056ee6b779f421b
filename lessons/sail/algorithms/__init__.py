"""The mathematics of the chapter: `mixing` networks with shares, by `distances` of data; a `quadratic` loss and
`closeness` to its minimum; reading `tables`.
"""
from lessons.sail.algorithms import closeness, distances, mixing, quadratic, tables
