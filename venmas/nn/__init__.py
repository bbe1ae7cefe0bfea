"""Networks: layers, evaluation in floats and exact rationals, readers for ONNX, Keras and .nnet files."""

from venmas.nn.load import Normalization, load_network, load_recurrent
from venmas.nn.network import Layer, Network, relu_network
from venmas.nn.recurrent import Recurrent

__all__ = ["Layer", "Network", "Normalization", "Recurrent", "load_network", "load_recurrent", "relu_network"]
