from simulator.frontends.tensorflow.loops import repeat, while_loop
