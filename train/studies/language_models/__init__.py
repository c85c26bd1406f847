"""Language models that learn to answer with lists that cover, by TRL's GRPO and the reward of `srd_agents.llm`."""
