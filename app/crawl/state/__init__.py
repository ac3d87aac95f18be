"""What the rooms of a crawl share: a visit in progress, and the resources of its worker."""
