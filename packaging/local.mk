# see HACKING: what this folder holds
