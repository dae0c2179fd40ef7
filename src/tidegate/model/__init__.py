"""The words of Tidegate as frozen values; imports nothing but errors."""
