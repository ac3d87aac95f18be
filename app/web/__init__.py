"""The dashboard: the use cases of `app.admin`, seen and steered in a browser. Server-rendered; nothing from outside.

app      the Starlette app        routes   what is served, and how it is guarded
guard    who may do what          pulse    what is live, one look a second for all viewers
acts     what can be ordered      pages/   one file a page
"""
