"""The user's handlers: they extract items from archived pages, apart from visits, in processes of their own."""
