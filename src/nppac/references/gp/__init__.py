"""The Gaussian-process reference: its variance grows away from the demonstrations.

`posterior.py` has the equations. `fit.py` fits the hyper-parameters of `likelihood.py`, `solve.py`
conditions on the demonstrations (`large/` on more than 20,000 of them), and `mean.py` and
`variance.py` predict.
"""
