"""Facades: classes that other systems' users know. They translate, call the engine, and translate back."""
