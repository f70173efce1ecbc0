"""The playground: a static page that runs a model file in the browser."""
