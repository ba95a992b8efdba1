spad plan input/weights_agents.spad --fix -o -
