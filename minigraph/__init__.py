"""minigraph: how a durable graph runtime works, in code that is there to be read.

Its heart, plan, update and program, takes an evening; all of it takes a weekend. Read the
package top to bottom; every module only imports modules above it:

    I    words       constants, errors, types
    II   state       channels/        one class per way a piece of state can change
    III  memory      checkpoint/      what is stored, and where
    IV   super-step  pregel/          plan and update: pure functions
    V    running     pregel/          the program, its effects, and the drivers
    VI   authoring   graph/           StateGraph, compiled to IV and V

Public addresses are the reference's: replace ``langgraph`` by ``minigraph`` in an import.
"""

__version__ = "0.1.0"
