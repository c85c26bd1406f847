"""Search result diversification as reinforcement-learning environments."""
