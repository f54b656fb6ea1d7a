"""Room for the duals of many documents, kept sparse."""
