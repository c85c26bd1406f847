"""M2Div (Feng et al., SIGIR 2018): ranking with Monte Carlo tree search, and the network that guides it."""
