#!/bin/sh
# """A shell script that calls python"""
# class: exact
set -e
cd "$(dirname "$0")"
python -m trainer
