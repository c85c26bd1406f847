"""Policies, a ranker and a learner for Stable-Baselines3 and sb3-contrib; needs `pip install "srd-gym[sb3]"`.

`network` and `agent` need torch alone until something is trained, so that a trained folder ranks without the libraries.
"""
