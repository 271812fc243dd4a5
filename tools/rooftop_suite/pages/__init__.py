"""Pages and pictures of results, for a browser: these need Jinja2 and Matplotlib."""
