"""Other methods of test-time adaptation, one file each, behind one protocol."""
