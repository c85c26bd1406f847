"""Rankers as parts of other libraries: one module a library, imported only when asked for.

`langchain`, `haystack`, `llama_index`, `pyterrier` and `sklearn` translate, each into the words and the polarity of its
library, and hold no rule: `ranking` has what they share, and `srd_agents.diversify` ranks.
"""
