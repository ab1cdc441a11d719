"""The app's pages: inputs -> Job, calc's results -> words and charts. No arithmetic here."""
