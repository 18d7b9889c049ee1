"""The record page that every domain shares, and the demo's scoreboard."""
