"""How a learner's answer is judged.

It is run (`running`) and compared (`comparing`). Where it is wrong, it is told what it has to do with the right one
(`relating`), and on which input that shows (`telling`).
"""
