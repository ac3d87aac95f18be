"""The work of a worker, from taking up a host to leaving it. Its rooms import only what stands below them:
visit ▸ page ▸ robots ▸ frontier and request ▸ state.
"""
