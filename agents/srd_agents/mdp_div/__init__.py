"""MDP-DIV (Xia et al., SIGIR 2017): ranking as a Markov decision process, learned by REINFORCE."""
