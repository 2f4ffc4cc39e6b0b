"""Do measures agree with each other, and with people?"""
