"""The store: tables, the log of what people decided, undo, and what stands."""
