"""The frontier as a visit sees it: which URLs enter, which are next, which are evicted."""
