// Stack sizes of functions: codelets run on the stack of the host here, so these have no effect.
#pragma once

#define DEF_STACK_USAGE(SIZE, FUNCTION)
#define DEF_STACK_SIZE_OWN(SIZE, FUNCTION)
#define DEF_FUNC_CALLS(CALLER, CALLEES)
#define DEF_FUNC_CALL_PTRS(CALLER, CALLEES)
#define RECURSIVE_FUNCTION_SIZE(SIZE)
