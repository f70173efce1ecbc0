"""What records say, for people: tables and pages. Imports without torch."""
