"""Operations of a software layer: owners, parts, figures, flow, roofline."""
