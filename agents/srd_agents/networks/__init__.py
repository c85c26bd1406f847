"""Parts that several learners share; needs torch."""
