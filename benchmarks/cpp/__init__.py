"""C++ beside Python and beside hand-written loops."""
