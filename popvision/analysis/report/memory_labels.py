"""Labels of memory categories and regions, in the order in which reports print them."""

#: Labels of the published text, in its order.
CATEGORY_LABELS = {
    "variable": "Variables",
    "constant": "Constants",
    "hostExchangePacketHeader": "Host Exchange Packet Headers",
    "globalExchangePacketHeader": "Global Exchange Packet Headers",
    "stack": "Stack",
    "vertexInstanceState": "Vertex Instances",
    "copyDescriptor": "Copy Descriptors",
    "vectorListDescriptor": "VectorList Descriptors",
    "vertexFieldData": "Vertex Field Data",
    "controlTable": "Control Table",
    "controlId": "Control IDs",
    "controlCode": "Control Code",
    "vertexCode": "Vertex Code",
    "internalExchangeCode": "Internal Exchange Code",
    "hostExchangeCode": "Host Exchange Code",
    "globalExchangeCode": "Global Exchange Code",
    "instrumentationResults": "Instrumentation Results",
    "message": "Messages",
    "hostMessage": "Host Messages",
    "globalMessage": "Global Messages",
    "rearrangement": "Rearrangement",
    "outputEdge": "Output Edges",
    "sharedCodeStorage": "Shared Code Storage",
    "sharedDataStorage": "Shared Data Storage",
    "multiple": "Shared by Several Categories",
}

REGION_LABELS = {"nonInterleaved": "Non-interleaved", "interleaved": "Interleaved", "overflowed": "Overflowed"}
