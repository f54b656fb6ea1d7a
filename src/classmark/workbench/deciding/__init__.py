"""What a person does with a document: suggestions, the sheet, the queue, decisions."""
