"""The jail: levels, filters, the zygote and its supervisor."""
