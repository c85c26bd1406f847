"""Reports of benchmarks: one self-contained page, and the same tables as Markdown and LaTeX.

Everything comes from the files that `srd benchmark` left: records (JSON lines) and TREC runs. The topics themselves
are read again only to show texts and subtopics, and only if they are still the ones that the records are about.
"""
