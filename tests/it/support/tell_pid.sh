#!/bin/sh
# Runs the executable $FUNCTION in this process, and says first which one it is.
echo "pid $$"
exec "$FUNCTION"
