"""A small web on loopback that `tiptoe demo` crawls: one host that is well, and four that are not."""
