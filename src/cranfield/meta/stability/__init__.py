"""How reliably does a measure separate systems?"""
