"""MA4DIV (Chen et al., WWW 2025): every document is an agent that scores itself; QMIX, VDN and independent learning."""
