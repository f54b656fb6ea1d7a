"""The taxonomy of a project: edited, browsed, searched, proposed and reported."""
