"""Configuration and test format of Offloom's lit tests."""
