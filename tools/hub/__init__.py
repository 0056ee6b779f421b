"""A class on JupyterHub, tried on one machine (`make hub`): every learner gets a server, notebooks and a store of their
own, and reads the models and measurements of one shared store.

* `class_folder`: the folder of a class, and what is in it.
* `jupyterhub_config.py`: JupyterHub's settings.
* `learner.py`: starts one learner's server, here or on the hub of a real class.
* `measure`: memory, processor time and disk of every learner.
* `students`: simulated learners, who all run a lesson at once.
"""
