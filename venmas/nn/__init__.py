"""Networks: layers, evaluation in floats and exact rationals, readers for ONNX, Keras and .nnet files."""

from venmas.nn.load import Normalization, load_network
from venmas.nn.network import Layer, Network, relu_network

__all__ = ["Layer", "Network", "Normalization", "load_network", "relu_network"]
