"""Documents and taxonomies in and out: import, export, uploads, backup."""
