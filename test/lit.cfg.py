# Hands over to lit/offloom_lit, where the configuration is.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lit"))
from offloom_lit.config import load

load(config, lit_config)
