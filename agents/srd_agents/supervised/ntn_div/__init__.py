"""NTN-DIV (Xia et al., SIGIR 2016): novelty as a neural tensor network, learned from ideal rankings."""
