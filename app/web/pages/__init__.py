"""Pages, one file each: they read by `app.admin`, and render a template."""
