"""JSON-RPC 2.0 over WebSocket and HTTP: everything between a frame and a method's handler.

A registry of `Method`s makes a `Dispatcher`, which the endpoints of both transports share. What methods do,
and who may call them, is told to this package and never known by it.
"""
