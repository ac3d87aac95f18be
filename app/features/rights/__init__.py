"""Rights: what owners state about the uses of their pages, RSL licences included, and a verdict for each purpose."""
