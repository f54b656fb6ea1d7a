"""Many machines do what one does."""
